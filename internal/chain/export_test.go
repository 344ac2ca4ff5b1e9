package chain

import "time"

// CheckEvery lets tests look at nodes more often than a service does.
func (n *Nodes) CheckEvery(interval time.Duration) { n.interval = interval }
