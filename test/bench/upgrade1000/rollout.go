package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"deployer/engine"
)

// rollout is a run over all minions that is killed in the middle and resumed by another
// controller.
type rollout struct {
	*site
	figures
	done      map[string]time.Time // hosts that were done when the controller was killed, with the times of their changes
	resumedAs string               // id of the resumed run
	exit      int                  // exit code of the resumed run
	report    *engine.Report       // of the resumed run
}

// runTime is the maximum duration of each of the two runs.
const runTime = time.Hour

func (r *rollout) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	first, second := newController(r.deployer, filepath.Join(r.dir, "first")), newController(r.deployer, filepath.Join(r.dir, "second"))
	for _, c := range []*controller{first, second} {
		if err := r.writeSite(r.fleet, c.dir, r.minions.url, r.plane.port); err != nil {
			return err
		}
	}
	r.tally.begin()
	began := time.Now()
	id, err := r.runUntilKilled(ctx, first)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%5.0f s: %d nodes are done; the controller is killed\n", time.Since(began).Seconds(), len(r.done))
	if err := r.resume(ctx, second, id); err != nil {
		return err
	}
	r.wall = time.Since(began)
	r.unavailable, r.unavailableZone = r.tally.peaks()
	r.failed = len(r.report.Broken())
	return nil
}

// runUntilKilled runs the playbook, kills deployer when the number of nodes to kill
// after is done, and returns the id of the run. No host that fails is in the middle
// of its change then: a resumed run restores its own changes only, and would report
// that host as not restored.
func (r *rollout) runUntilKilled(ctx context.Context, c *controller) (id string, err error) {
	if err := c.start(ctx, "run", playbookFile, "-i", inventoryFile); err != nil {
		return "", err
	}
	defer c.kill()
	if err := r.during(ctx, c, func() bool { return len(r.tally.finished()) >= r.kill && !r.failingInside() }); err != nil {
		return "", err
	}
	c.kill()
	r.done = map[string]time.Time{}
	for name := range r.tally.finished() {
		version, since, err := r.minions.version(name)
		if err != nil {
			return "", err
		}
		if version == newVersion {
			r.done[name] = since
		}
	}
	record, err := c.record()
	if err != nil {
		return "", err
	}
	return record.Header.Run, nil
}

// failingInside reports whether a host that the change breaks is cordoned.
func (r *rollout) failingInside() bool {
	for name := range r.tally.cordoned() {
		if r.minions.failing[name] {
			return true
		}
	}
	return false
}

// resume continues the run on a machine without its logs.
func (r *rollout) resume(ctx context.Context, c *controller, id string) error {
	began := time.Now()
	if err := c.start(ctx, "resume", id, "-i", inventoryFile, "--playbook", playbookFile, "--from-hosts", "--yes"); err != nil {
		return err
	}
	defer func() {
		_ = c.cmd.Process.Signal(os.Interrupt)
		<-c.done
	}()
	if err := r.during(ctx, c, func() bool { return len(r.newNodes(id)) > 0 }); err != nil {
		return err
	}
	r.figures.resume = time.Since(began)
	fmt.Fprintf(r.out, "%5.1f s after its start the resumed run acts on %s\n", r.figures.resume.Seconds(), r.newNodes(id)[0])
	select {
	case <-c.done:
	case <-r.watches.failed():
		return r.watches.err()
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	if r.exit, err = c.exitCode(); err != nil {
		return c.ended("the resumed run")
	}
	if r.report, err = c.report(); err != nil {
		return errors.Join(err, c.ended("the resumed run"))
	}
	r.resumedAs = r.report.Run
	return nil
}

// newNodes returns the nodes that a run other than the killed one has cordoned, and that
// the killed one had not. Marks tell the runs apart, since events of the killed run may come
// after its end.
func (r *rollout) newNodes(killed string) (out []string) {
	r.tally.look(func() {
		for name, runs := range r.tally.cordons {
			if !slices.Contains(runs, killed) {
				out = append(out, name)
			}
		}
	})
	slices.Sort(out)
	return out
}

// during waits for a state of the tally while deployer runs.
func (r *rollout) during(ctx context.Context, c *controller, reached func() bool) error {
	for {
		event := r.tally.next()
		if reached() {
			return nil
		}
		select {
		case <-event:
		case <-c.done:
			return c.ended("deployer has ended before its time")
		case <-r.watches.failed():
			return r.watches.err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
