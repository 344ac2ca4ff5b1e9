// Package ingest reads the files that contributors upload and makes the bytes that are served.
//
// [Ingester] reads a file in a child process with bounded memory and time, which can open nothing:
// a file that crashes or takes over its reader reaches only that process. [Isolation] is how
// strictly the process is isolated from the system.
//
// The formats are read by package container, below. The package does not know submissions,
// contributors, HTTP or where files are stored.
package ingest
