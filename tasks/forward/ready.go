// Package forward has the gate for whatever passes requests on: an API proxy, or
// kube-proxy with its rules. Its effect is proved when a request came back.
package forward

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/httpcheck"
	"deployer/tasks/staticpod"
	"deployer/tasks/unit"
)

// Ready waits until a request that goes through a proxy is answered. Where the
// servers behind it do not answer either when they are asked directly, the proxy
// cannot be judged, and nothing is waited for.
type Ready struct {
	HTTP     httpcheck.HTTP `yaml:"http" required:"true" doc:"request that goes through the proxy"`
	Direct   []string       `yaml:"direct" doc:"URLs of the servers behind the proxy, which get the same request when the proxy does not answer; default: the proxy must answer in any case"`
	Unit     string         `yaml:"unit" doc:"unit of the proxy, whose log a failure shows; without such a unit there is nothing to wait for. Default none"`
	Manifest string         `yaml:"manifest" doc:"manifest of the proxy's static pod; without such a manifest there is nothing to wait for. Default none"`
	Timeout  time.Duration  `yaml:"timeout" doc:"maximum wait; default 30s"`
}

var _ engine.Module = (*Ready)(nil)

// Gate is the same wait.
func (r *Ready) Gate() any { return r }

const pollEvery = 200 * time.Millisecond

// silence is how long nothing at all must answer before the proxy is let off: the
// servers behind it may be starting.
const silence = 10 * time.Second

// Check asks once, which is all that a proxy costs that works.
func (r *Ready) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if gone, err := r.gone(ctx, sys); err != nil || gone {
		return engine.Change{}, err
	}
	if _, err := r.HTTP.Do(ctx, sys); err == nil {
		return engine.NoChange(engine.Output{"forwarded": true}), nil
	}
	return engine.Change{Needed: true, Wait: true}, nil
}

// gone reports whether the proxy is not there, as in a dry run before the first
// install, and after that was reverted.
func (r *Ready) gone(ctx context.Context, sys engine.System) (bool, error) {
	if r.Manifest != "" {
		return !staticpod.Wanted(sys, r.Manifest), nil
	}
	if r.Unit == "" {
		return false, nil
	}
	now, err := unit.Running(ctx, sys, r.Unit)
	return now.Missing, err
}

// Apply waits. The output's `forwarded` is false when no server behind the proxy
// answers either; `why` says what they say.
func (r *Ready) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	began := time.Now()
	w := &watch{ready: r, sys: sys, heard: began}
	err := httpcheck.Poll(ctx, cmp.Or(r.Timeout, 30*time.Second), pollEvery, sys.Progress, w.try)
	took := time.Since(began)
	switch {
	case err == nil && w.excused:
		return engine.Output{"forwarded": false, "why": w.direct.Error(), "elapsed_seconds": took.Seconds()}, nil
	case err == nil:
		return engine.Output{"forwarded": true, "elapsed_seconds": took.Seconds()}, nil
	}
	message := fmt.Sprintf("no request passes through %s after %s: %v", r.HTTP.URL, took.Round(time.Second), err)
	if len(r.Direct) > 0 && w.direct == nil {
		message += "; a server behind it answers when it is asked directly, so the proxy does not run or its configuration is wrong"
	}
	return nil, &engine.Failure{Message: message, Detail: r.log(ctx, sys)}
}

// watch asks again and again.
type watch struct {
	ready   *Ready
	sys     engine.System
	heard   time.Time // when a server behind the proxy last answered
	direct  error     // what those servers said last
	excused bool      // nothing answers, so the proxy cannot be judged
}

func (w *watch) try(ctx context.Context) error {
	_, err := w.ready.HTTP.Do(ctx, w.sys)
	if err == nil || len(w.ready.Direct) == 0 {
		return err
	}
	if w.direct = w.ready.ask(ctx, w.sys); w.direct == nil {
		w.heard = time.Now()
		return err
	}
	if w.excused = time.Since(w.heard) >= silence; w.excused {
		return nil
	}
	return err
}

// ask asks the servers behind the proxy one after the other; nil when one of them
// answers as the proxy should.
func (r *Ready) ask(ctx context.Context, sys engine.System) error {
	var said []string
	for _, url := range r.Direct {
		request := r.HTTP
		request.URL = url
		_, err := request.Do(ctx, sys)
		if err == nil {
			return nil
		}
		said = append(said, err.Error())
	}
	return fmt.Errorf("no server behind the proxy answers: %s", strings.Join(said, "; "))
}

func (r *Ready) log(ctx context.Context, sys engine.System) string {
	if r.Manifest != "" {
		return staticpod.Log(sys, r.Manifest)
	}
	if r.Unit != "" {
		return unit.Journal(ctx, sys, r.Unit)
	}
	return ""
}
