// Package service runs one process of the service. Open opens the database, the nodes, the media
// store and the HTTP listeners. Run runs the work of the process's roles until it is stopped. The
// package takes typed configuration and reads no flags.
package service
