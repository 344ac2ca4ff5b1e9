// Package cli has the client commands of sortie: one file per resource, with an options struct,
// newXCmd and runX for each command. It also has what all commands share: exit codes, flags from
// the environment, output for people and programs, and the ready file.
package cli
