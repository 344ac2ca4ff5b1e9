// Package blob stores files. [Objects] stores finished files under the hash of their bytes, in a
// directory or in an S3 bucket. [Incoming] stores uploads until they are complete.
//
// The package knows files and hashes. It does not know submissions, contributors or HTTP.
package blob
