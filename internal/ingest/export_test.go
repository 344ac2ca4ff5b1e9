package ingest

import "os"

// Misbehave has this process do something else before it looks at a file, as a child.
func Misbehave(how func()) { misbehave = how }

// OnChildEnd has a function called with the state of every child that ended.
func (i *Ingester) OnChildEnd(fn func(*os.ProcessState)) { i.onChildEnd = fn }

// OnStderr has a function called with what ffmpeg said of each video.
func (i *Ingester) OnStderr(fn func(string)) { i.onStderr = fn }

// SetStillMemory says how much memory ffmpeg may have.
func (i *Ingester) SetStillMemory(bytes int64) { i.stillMemory = bytes }

// For tests of what children do with pictures.
var (
	NewThumbnail   = newThumbnail
	PerceptualHash = perceptualHash
)
