package devnet

import (
	"context"
	"log/slog"
	"sync"

	gethlog "github.com/ethereum/go-ethereum/log"
)

var routeLogOnce sync.Once

// routeLog sends the library's log to the first chain's logger. The library has one logger for the
// whole process, so later chains share it; without this it would be silent even when it gives up
// and exits the process.
func routeLog(logger *slog.Logger) {
	routeLogOnce.Do(func() {
		gethlog.SetDefault(libraryLog{gethlog.NewLogger(demoted{logger.Handler()})})
	})
}

// libraryLog hides the library's own logger type from its SetDefault, which would make it the
// process's slog default too.
type libraryLog struct{ gethlog.Logger }

// demoted lowers the library's messages to debug level, its warnings about missing peers included.
// Only what precedes an exit of the process stays an error.
type demoted struct{ slog.Handler }

func demotedLevel(level slog.Level) slog.Level {
	if level >= gethlog.LevelCrit {
		return slog.LevelError
	}
	return min(level, slog.LevelDebug)
}

func (d demoted) Enabled(ctx context.Context, level slog.Level) bool {
	return d.Handler.Enabled(ctx, demotedLevel(level))
}

func (d demoted) Handle(ctx context.Context, record slog.Record) error {
	record.Level = demotedLevel(record.Level)
	return d.Handler.Handle(ctx, record)
}

func (d demoted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return demoted{d.Handler.WithAttrs(attrs)}
}

func (d demoted) WithGroup(name string) slog.Handler { return demoted{d.Handler.WithGroup(name)} }
