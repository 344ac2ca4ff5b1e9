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
)

// listen binds the ports. The API's comes before the database and the media, so that a second start
// by mistake fails on the port and touches nothing.
func (s *Service) listen() (err error) {
	if s.listener, err = net.Listen("tcp", s.config.Listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if s.config.OperationsListen == "" || s.config.sharesListener() {
		return nil
	}
	s.operationsListener, err = net.Listen("tcp", s.config.OperationsListen)
	switch {
	case err == nil:
		return nil
	case s.config.OperationsOptional: // the address was not chosen, so the service does not depend on it
		s.config.Logger.Warn("this process shows no metrics, because the default address for them is taken: give each process on a machine an --operations-listen of its own",
			"address", s.config.OperationsListen, "error", err.Error())
		return nil
	}
	return fmt.Errorf("--operations-listen: %w; give each process on a machine its own, or the address of --listen to have one listener for both", err)
}

// sharesListener reports whether the API's listener shows the metrics too.
func (c Config) sharesListener() bool { return c.OperationsListen == c.Listen }

// serveOn makes the HTTP servers.
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

// runHTTP answers requests until ctx ends, then lets those under way finish.
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
		defer s.operations.Close()                        // last, so that the stop can be watched
		if err := s.http.Shutdown(stopping); err != nil { // an upload that is cut continues where it was, at the next start
			s.config.Logger.Warn("requests were still under way and are cut off", "after", stopTimeout.String())
			return s.http.Close()
		}
		return nil
	})
	return group.Wait()
}

// operationsURL is where the metrics are; empty where they are not shown.
func (s *Service) OperationsURL() string {
	switch {
	case s.config.sharesListener():
		return s.BaseURL()
	case s.operationsListener != nil:
		return "http://" + s.operationsListener.Addr().String()
	}
	return ""
}
