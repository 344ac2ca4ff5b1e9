package chain

import "time"

// CheckEvery sets the time between checks of the nodes.
func (n *Nodes) CheckEvery(interval time.Duration) { n.interval = interval }
