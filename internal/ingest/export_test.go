package ingest

import "os"

// Misbehave sets what this process does as a child before it reads a file.
func Misbehave(how func()) { misbehave = how }

// OnChildEnd sets a function that is called with the state of every child that ended.
func (i *Ingester) OnChildEnd(fn func(*os.ProcessState)) { i.onChildEnd = fn }

// OnStderr sets a function that is called with the standard error of ffmpeg for each video.
func (i *Ingester) OnStderr(fn func(string)) { i.onStderr = fn }

// SetStillMemory sets the memory limit of ffmpeg.
func (i *Ingester) SetStillMemory(bytes int64) { i.stillMemory = bytes }

// Internals for tests.
var (
	NewThumbnail   = newThumbnail
	PerceptualHash = perceptualHash
)
