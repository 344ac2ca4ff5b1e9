//go:build !linux

package ingest

import "errors"

var errNoLayer = errors.New("supported on Linux only")

func filterFileReader() error { return errNoLayer }

func fileRulesMissing() error { return errNoLayer }

func prepareThreads() {}
