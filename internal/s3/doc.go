// Package s3 is a small client of the S3 HTTP API: one bucket, requests signed with version 4 of
// Amazon's signature, credentials from the sources that the AWS tools use.
//
// It sends and receives bytes. What the keys mean, what is stored under them and how long a call
// may take is decided by its caller.
package s3
