package container

// ServedSize returns the number of bytes that WriteTo writes.
func (f *File) ServedSize() int64 { return f.plan.size }
