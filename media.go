package sortie

// MaxUploadBytes is the size of the largest file that a contributor may upload.
const MaxUploadBytes = 512 << 20

// TusVersion is the version of the tus protocol in which files are uploaded in parts.
const TusVersion = "1.0.0"

// The content types of the files that contributors may upload.
const (
	ContentTypeJPEG      = "image/jpeg"
	ContentTypePNG       = "image/png"
	ContentTypeWebP      = "image/webp"
	ContentTypeMP4       = "video/mp4"
	ContentTypeQuickTime = "video/quicktime"
	ContentTypeWebM      = "video/webm"
)

// ContentTypes lists the content types of the files that contributors may upload, which are also
// those that are served. Never add HTML or SVG: a browser that opens a link must find no script.
func ContentTypes() []string {
	return []string{ContentTypeJPEG, ContentTypePNG, ContentTypeWebP, ContentTypeMP4, ContentTypeQuickTime, ContentTypeWebM}
}

// FileExtension returns the file name extension of a content type, with its dot. It returns an
// empty string for a type that contributors may not upload.
func FileExtension(contentType string) string {
	switch contentType {
	case ContentTypeJPEG:
		return ".jpg"
	case ContentTypePNG:
		return ".png"
	case ContentTypeWebP:
		return ".webp"
	case ContentTypeMP4:
		return ".mp4"
	case ContentTypeQuickTime:
		return ".mov"
	case ContentTypeWebM:
		return ".webm"
	}
	return ""
}
