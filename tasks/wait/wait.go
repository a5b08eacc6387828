// Package wait has the module that waits for something on the host to serve.
package wait

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"deployer/engine"
	"deployer/tasks/probe"
)

// For waits until a port, path, socket or address answers. It changes nothing.
type For struct {
	Host     string        `yaml:"host" doc:"name or address for port; default 127.0.0.1"`
	Port     int           `yaml:"port" doc:"TCP port that must accept connections"`
	Path     string        `yaml:"path" doc:"absolute path that must exist"`
	Socket   string        `yaml:"socket" doc:"path of a Unix socket that must accept connections"`
	HTTP     *probe.HTTP   `yaml:"http" doc:"request that must be answered as expected"`
	Timeout  time.Duration `yaml:"timeout" doc:"how long to wait; default 60s"`
	Interval time.Duration `yaml:"interval" doc:"time between two tries; default 200ms"`
}

var _ engine.Module = (*For)(nil)

// Check tries once. What is not there yet is waited for by Apply, so that a dry
// run does not wait for what it has not started.
func (w *For) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if w.Port == 0 && w.Path == "" && w.Socket == "" && w.HTTP == nil {
		return engine.Change{}, errors.New("want a port, path, socket or http to wait for")
	}
	if err := w.try(ctx, sys); err == nil {
		return engine.NoChange(engine.Output{"waited": false}), nil
	}
	return engine.Change{Needed: true, Wait: true}, nil
}

// Apply polls until everything asked for is there.
func (w *For) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	timeout := cmp.Or(w.Timeout, time.Minute)
	began := time.Now()
	err := probe.Poll(ctx, timeout, cmp.Or(w.Interval, 200*time.Millisecond), sys.Progress, func(ctx context.Context) error {
		return w.try(ctx, sys)
	})
	if err != nil {
		return nil, fmt.Errorf("waited %s in vain: %w", time.Since(began).Round(time.Second), err)
	}
	return engine.Output{"waited": true, "elapsed_seconds": time.Since(began).Seconds()}, nil
}

func (w *For) try(ctx context.Context, sys engine.System) error {
	if w.Path != "" {
		if !filepath.IsAbs(w.Path) {
			return fmt.Errorf("path %q is not absolute", w.Path)
		}
		if _, err := os.Stat(sys.Path(w.Path)); err != nil {
			return fmt.Errorf("%s is not there yet: %w", w.Path, err)
		}
	}
	if w.Socket != "" {
		if err := dial(ctx, "unix", sys.Path(w.Socket)); err != nil {
			return err
		}
	}
	if w.Port != 0 {
		if err := dial(ctx, "tcp", net.JoinHostPort(cmp.Or(w.Host, "127.0.0.1"), strconv.Itoa(w.Port))); err != nil {
			return err
		}
	}
	if w.HTTP != nil {
		if _, err := w.HTTP.Do(ctx, sys); err != nil {
			return err
		}
	}
	return nil
}

func dial(ctx context.Context, network, address string) error {
	d := net.Dialer{Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Gate is the same wait.
func (w *For) Gate() any { return w }
