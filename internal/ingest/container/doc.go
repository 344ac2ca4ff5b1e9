// Package container knows the six file formats that contributors may upload: JPEG, PNG and WebP
// pictures, MP4, QuickTime and WebM videos. It walks a file, says what the file claims about
// itself, and plans the bytes that are served in its place.
//
// Every walker keeps what it knows and drops the rest: what no line of this package names does not
// reach a creator. So a place, a serial number or a second file that hides in a corner nobody
// thought of goes with everything else nobody thought of. The picture or the sound itself is
// copied, never encoded again.
//
// The files are hostile. No walker recurses as deep as a file asks, loops as often as a file says,
// or allocates more than a small multiple of the bytes it was given. The package decodes no pixels,
// opens no files and imports nothing of ours.
package container
