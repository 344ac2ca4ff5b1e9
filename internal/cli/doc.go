// Package cli holds the client commands of sortie: one file per noun, with an options struct, newXCmd
// and runX for each command. It also holds what all commands share: exit codes, flags from the
// environment, output for people and programs, and the ready file.
package cli
