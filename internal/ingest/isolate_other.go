//go:build !linux

package ingest

import "errors"

var errNoLayer = errors.New("only Linux has it")

func filterFileReader() error { return errNoLayer }

func fileRulesMissing() error { return errNoLayer }

func prepareThreads() {}
