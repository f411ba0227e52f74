// Package backendpb is the contract between a host and its backends in
// generated Go: the services and messages of backend.proto and values.proto,
// package pinfold.backend.v1.
//
// Programs seldom use it directly. A backend in Go uses package sdk, a host
// package host/backend, and both convert with package core/wire, which also
// refuses what they do not understand. Who writes a backend in another language
// reads the two files; their comments say all that the contract asks.
package backendpb
