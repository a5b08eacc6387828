package forward

import (
	"context"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/tasks/staticpod"
)

// patience is the time for a proxy to learn its rules by itself, while the server that it learns
// them from answers. After a short outage client-go watches again within these 15 s; after a long
// one, or the second within two minutes, it waits 30 s and as much again at random, and a second
// time when the server has just started (client-go, tools/cache/reflector.go: 0.8 s doubled up to
// 30 s; the series begins anew with the first failure later than two minutes after its beginning).
const patience = 15 * time.Second

// watch repeats the request.
type watch struct {
	ready   *Ready
	sys     engine.System
	heard   time.Time // time of the last answer of a server behind the proxy
	direct  error     // last error of these servers
	excused bool      // no server answers, so the proxy cannot be tested

	taught    time.Time // since when the source has answered, and the proxy has not; zero while the source does not
	restarted bool      // the container of the proxy was ended
}

func (w *watch) try(ctx context.Context) error {
	_, err := w.ready.HTTP.Do(ctx, w.sys)
	if err == nil || len(w.ready.Direct) == 0 {
		return err
	}
	if w.direct = w.ready.ask(ctx, w.sys, w.ready.Direct); w.direct == nil {
		w.heard = time.Now()
		return w.restart(ctx, err)
	}
	w.taught = time.Time{}
	if w.excused = time.Since(w.heard) >= silence; w.excused {
		return nil
	}
	return err
}

// restart ends the container of a proxy that has not learned its rules in time, and returns err
// for the wait to continue.
func (w *watch) restart(ctx context.Context, err error) error {
	switch {
	case w.ready.Source == "" || w.ready.Manifest == "" || w.restarted:
		return err
	case w.ready.ask(ctx, w.sys, []string{w.ready.Source}) != nil:
		w.taught = time.Time{}
		return err
	case w.taught.IsZero():
		w.taught = time.Now()
	}
	if time.Since(w.taught) < patience {
		return err
	}
	ended, failed := staticpod.End(ctx, w.sys, w.ready.Manifest)
	switch {
	case failed != nil:
		return fmt.Errorf("%w; and its container, which has not learned its rules from %s, could not be ended: %w", err, w.ready.Source, failed)
	case ended:
		w.restarted = true
		w.sys.Progress(fmt.Sprintf("the proxy has not learned its rules from %s, which has answered for %s: its container was ended, so that it reads them anew", w.ready.Source, patience))
	}
	return err
}
