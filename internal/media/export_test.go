package media

import (
	"os"
	"time"
)

// Misbehave has this process do something else before it looks at a file, as a child.
func Misbehave(how func()) { misbehave = how }

// OnChildEnd has a function called with the state of every child that ended.
func (i *Ingester) OnChildEnd(fn func(*os.ProcessState)) { i.ended = fn }

// For tests of what children do with pictures.
var (
	NewThumbnail   = newThumbnail
	PerceptualHash = perceptualHash
)

// SetPatience says how long a bucket may be silent.
func (o *Objects) SetPatience(d time.Duration) { o.store.(*bucket).patience = d }
