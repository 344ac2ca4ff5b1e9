package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	signatureAlgorithm = "AWS4-HMAC-SHA256"
	signatureTime      = "20060102T150405Z"
	signatureDate      = "20060102"
)

// sign adds the headers of signature version 4 to a request whose body has the given SHA-256. Every
// header that is set already is part of the signature.
func sign(r *http.Request, by Credentials, region, service, bodySum string, now time.Time) {
	r.Header.Set("X-Amz-Date", now.UTC().Format(signatureTime))
	r.Header.Set("X-Amz-Content-Sha256", bodySum)
	if by.SessionToken != "" {
		r.Header.Set("X-Amz-Security-Token", by.SessionToken)
	}
	if by.AccessKey == "" { // anonymous
		return
	}
	names, headers := canonicalHeaders(r)
	request := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, headers, names, bodySum}, "\n")
	day := now.UTC().Format(signatureDate)
	scope := strings.Join([]string{day, region, service, "aws4_request"}, "/")
	text := strings.Join([]string{signatureAlgorithm, r.Header.Get("X-Amz-Date"), scope, hexSum([]byte(request))}, "\n")

	key := []byte("AWS4" + by.SecretKey)
	for _, part := range []string{day, region, service, "aws4_request"} {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", signatureAlgorithm+" Credential="+by.AccessKey+"/"+scope+", SignedHeaders="+names+", Signature="+hex.EncodeToString(mac(key, text)))
}

// canonicalHeaders returns the names of the signed headers and the lines to sign.
func canonicalHeaders(r *http.Request) (names, lines string) {
	values := map[string]string{"host": r.URL.Host}
	for name, list := range r.Header {
		values[strings.ToLower(name)] = strings.Join(list, ",")
	}
	var sorted []string
	for name := range values {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		lines += name + ":" + strings.TrimSpace(values[name]) + "\n"
	}
	return strings.Join(sorted, ";"), lines
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func hexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// escapePath encodes a path as the signature requires: everything except letters, digits, - _ . ~
// and /.
func escapePath(path string) string {
	var escaped strings.Builder
	for _, part := range []byte(path) {
		if 'a' <= part && part <= 'z' || 'A' <= part && part <= 'Z' || '0' <= part && part <= '9' || strings.IndexByte("-_.~/", part) >= 0 {
			escaped.WriteByte(part)
		} else {
			escaped.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{part})))
		}
	}
	return escaped.String()
}

// escapeQuery encodes a query in the order of its names, with %20 for a space.
func escapeQuery(query url.Values) string { return strings.ReplaceAll(query.Encode(), "+", "%20") }
