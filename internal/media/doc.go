// Package media takes in the files that contributors upload, keeps what is served of them, and
// signs the links to it.
//
// [Ingester] looks at a file in a child process that has little memory, little time, and no way to
// open anything: whatever a file does to the code that reads it, it does to a process that is about
// to end anyway. [Isolation] says what happens where the system cannot isolate that process.
// [Objects] keeps files under the hash of their bytes, in a directory or in an S3 bucket.
// [LinkKeys] signs and checks the short-lived links under which they are fetched.
//
// The package knows files and hashes. It does not know submissions, contributors or HTTP: which
// file belongs to whom, and who may see it, is decided elsewhere.
package media
