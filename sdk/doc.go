// Package sdk is what the author of a backend in Go needs. A backend is a
// program whose main calls [Serve]:
//
//	func main() {
//		sdk.Serve(sdk.Backends{Confiner: confiner.New()})
//	}
//
// Serve does what the contract asks of a backend process: the go-plugin
// handshake, a connection that only the host can use, the lifeline that ends
// the backend with its host, a guarded standard output, an orderly end on
// SIGTERM, and refusal of every request that it does not understand whole.
package sdk
