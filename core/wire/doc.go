// Package wire carries the vocabulary of package core over the contract
// pinfold.backend.v1: conversion of values and errors, the handshake, and the
// rule that a message which the reader does not understand whole is refused.
//
// Both sides of a plugin connection use it. Conversions from messages validate:
// what they return holds no invalid enumeration value, and a message that lacks
// something required is an error.
package wire

// The go-plugin handshake. The cookie is no secret; it tells a backend that a
// host started it, and not a person.
const (
	ProtocolVersion = 1
	CookieKey       = "PINFOLD_BACKEND_COOKIE"
	CookieValue     = "0c0d8f2f-7f4f-4c54-9d0d-5b8a3a1f1c57"
	// PluginName is the one name in a backend's go-plugin set. The gRPC services
	// behind it tell what the backend is.
	PluginName = "backend"
	// LogLevelKey is the environment variable by which a host tells its
	// backends how much to log, in hclog's words.
	LogLevelKey = "PINFOLD_LOG_LEVEL"
)

// MaxMessage is the largest message in bytes that either side accepts. gRPC's
// own default is 4 MiB on a server, and a policy of some tens of thousands of
// paths passes it.
const MaxMessage = 16 << 20

// PageSize is how many processes or sessions one message of a stream holds.
const PageSize = 4096
