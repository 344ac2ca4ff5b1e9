package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
)

// upload is a file that a contributor declares and uploads.
type upload struct {
	contentType string
	content     []byte
	tail        []byte // after the content, to make the file unique
}

func (u upload) size() int { return len(u.content) + len(u.tail) }

func (u upload) hash() string {
	sum := sha256.New()
	sum.Write(u.content)
	sum.Write(u.tail)
	return hex.EncodeToString(sum.Sum(nil))
}

// declaration returns the body of a declaration at the location of the sample mission.
func declaration(contentType string, size int, hash string) []byte {
	return fmt.Appendf(nil, `{"location":{"lat":52.52,"lng":13.405,"accuracyMeters":12},"capturedAt":%q,"contentType":%q,"sizeBytes":%d,"sha256":%q}`,
		time.Now().UTC().Format(time.RFC3339), contentType, size, hash)
}

func (g *gallery) declareTarget() string { return "/api/missions/" + g.missionID + "/submissions" }

func (g *gallery) announce(c connection, contributor creator, key string, u upload) (declared sortie.SubmissionDeclared, err error) {
	err = c.fetch(contributor.post(g.declareTarget(), key, declaration(u.contentType, u.size(), u.hash())), &declared)
	if err == nil && declared.Upload == nil {
		err = errors.New("the declaration has no upload links")
	}
	return declared, err
}

// put uploads a file over a new connection.
func (p *process) put(declared sortie.SubmissionDeclared, u upload) error {
	c, err := p.dial()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	target := strings.TrimPrefix(declared.Upload.PutURL, publicURL)
	head := fmt.Appendf(nil, "PUT %s HTTP/1.1\r\nHost: bench.example\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n", target, u.size())
	go func() {
		for _, part := range [][]byte{head, u.content, u.tail} {
			if _, err := c.Write(part); err != nil {
				return // the server stopped reading and says why
			}
		}
	}()
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("the upload was answered with %s: %.300s", response.Status, body)
	}
	return err
}
