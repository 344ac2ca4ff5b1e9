package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie/internal/api"
	"github.com/sortie-labs/sortie/internal/setting"
)

// listen binds the ports. Open calls it before it opens the database and the media store, so that
// an accidental second start fails early and changes nothing.
func (s *Service) listen() (err error) {
	if _, _, err := net.SplitHostPort(s.config.Listen); err != nil {
		return &setting.Error{Name: setting.Listen, Value: s.config.Listen, Err: errors.New("want host:port, such as 127.0.0.1:8080")}
	}
	if s.listener, err = net.Listen("tcp", s.config.Listen); err != nil {
		return &setting.Error{Name: setting.Listen, Err: fmt.Errorf("%w; if another sortie is running, stop it, or choose a free port, 0 for any", err)}
	}
	if s.config.OperationsListen == "" || s.config.sharesListener() {
		return nil
	}
	s.operationsListener, err = net.Listen("tcp", s.config.OperationsListen)
	switch {
	case err == nil:
		return nil
	case s.config.OperationsOptional: // the default address, which the user did not choose
		s.config.Logger.Warn("metrics are off: the default address for them is in use; give each process on a machine its own address for operations",
			"address", s.config.OperationsListen, "error", err.Error())
		return nil
	}
	return &setting.Error{Name: setting.OperationsListen, Err: fmt.Errorf("%w; give each process on a machine its own address, or that of the API to share its listener", err)}
}

// sharesListener reports whether the API's listener serves the metrics too.
func (c Config) sharesListener() bool { return c.OperationsListen == c.Listen }

// serveOn creates the HTTP servers.
func (s *Service) serveOn(handler *api.Server) {
	s.http = s.newHTTPServer(handler)
	s.operations = s.newHTTPServer(handler.Operations())
}

func (s *Service) newHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, WriteTimeout: writeTimeout,
		MaxHeaderBytes: maxHeaderBytes, DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
	}
}

// runHTTP serves requests until ctx ends, then waits for those in progress.
func (s *Service) runHTTP(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	serve := func(server *http.Server, listener net.Listener) {
		group.Go(func() error {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve HTTP: %w", err)
			}
			return nil
		})
	}
	serve(s.http, s.listener)
	if s.operationsListener != nil {
		serve(s.operations, s.operationsListener)
	}
	group.Go(func() error {
		<-ctx.Done()
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		defer s.operations.Close()                        // last, so that the stop can be observed
		if err := s.http.Shutdown(stopping); err != nil { // interrupted uploads continue after the next start
			s.config.Logger.Warn("requests in progress are interrupted", "after", stopTimeout.String())
			return s.http.Close()
		}
		return nil
	})
	return group.Wait()
}

// OperationsURL is the URL of the metrics; empty if they are off.
func (s *Service) OperationsURL() string {
	switch {
	case s.config.sharesListener():
		return s.BaseURL()
	case s.operationsListener != nil:
		return "http://" + s.operationsListener.Addr().String()
	}
	return ""
}
