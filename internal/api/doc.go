// Package api is the HTTP door of the service and nothing else: it decodes a request, has its
// signature checked, calls one use case of package app and encodes the answer.
//
// server.go holds the table of routes and the way every request goes. Handlers return errors; one
// place writes them. The package knows no SQL, no chain and no keys.
package api
