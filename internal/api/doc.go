// Package api serves the HTTP API. It decodes a request, verifies its signature, calls one use case
// of package app and encodes the answer.
//
// routes.go is the table of routes; server.go does what all requests have in common. Handlers
// return errors, and answerError sends them. The package has no access to the database, the chain
// or keys.
package api
