// Package container reads the six file formats that contributors may upload: JPEG, PNG and WebP
// pictures, and MP4, QuickTime and WebM videos. It returns the facts that a file states and plans
// the bytes to serve.
//
// Every reader has an allow list: it keeps the parts that it names and drops all others, so a
// location, a serial number or a second file in an unknown part is never served. Picture and sound
// are copied, never encoded again.
//
// The files are hostile. Recursion depth, loops and allocations are bounded by limits in this
// package, not by numbers in the file. The package decodes no pixels and opens no files.
package container
