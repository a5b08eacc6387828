package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
	"deployer/tasks/poll"
)

// run is one run of the tests.
type run struct {
	o        Options
	progress progress
	log      *logCopy
	began    time.Time // when the API server created the namespace
	started  time.Time // when the tests were first seen to run
	beaten   time.Time // the last mark that the run is alive
	ended    bool      // the tests have ended
}

// Run runs the tests, and returns a row for each one that failed and a summary. The rows are problems of the
// cluster; an error means that the tests could not be run to their end. Run removes all objects of the run
// also when it fails or ctx ends, and refuses to start while another run lives.
func Run(ctx context.Context, o Options) (rows []report.Row, err error) {
	if o.times == (times{}) {
		o.times = defaultTimes()
	}
	r := &run{o: o}
	if state, ok := o.Client.FindReady(ctx); !ok {
		return nil, fmt.Errorf("the API server is not ready: %s", state)
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory of the results: %w", err)
	}
	if err := r.removeFormer(ctx); err != nil {
		return nil, err
	}
	if r.log, err = openLog(o.Dir); err != nil {
		return nil, err
	}
	defer func() {
		if closing := r.log.close(); err == nil && closing != nil {
			err = fmt.Errorf("writing the log of the tests: %w", closing)
		}
		o.Progress("removing the objects of the tests")
		if cleanup := r.remove(context.WithoutCancel(ctx)); cleanup != nil {
			cleanup = fmt.Errorf("removing the objects of the tests: %w; the next run with --conformance removes them", cleanup)
			if err == nil {
				o.Warn(cleanup.Error())
				return
			}
			err = errors.Join(err, cleanup)
		}
	}()
	if err := r.create(ctx); err != nil {
		return nil, err
	}
	end, err := r.watch(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		_ = r.readLog(ctx, true) // the last lines may show why
		return nil, fmt.Errorf("%w (%s)", err, &r.progress)
	}
	found, err := r.collect(ctx, end)
	if err != nil {
		return nil, err
	}
	return verdict(found, ending{end.code, r.progress.total, time.Since(r.started)}, o)
}

// create creates the objects of the run.
func (r *run) create(ctx context.Context) error {
	for _, o := range append([]any{namespaceObject()}, append(accountObjects(), r.o.pod())...) {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{Object: content}
		if err := r.o.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if object.GetKind() != "Namespace" {
			continue
		}
		made, err := r.o.Client.Get(ctx, kube.NamespaceKind(), "", Namespace)
		if err != nil {
			return fmt.Errorf("reading namespace %s: %w", Namespace, err)
		}
		r.began = made.GetCreationTimestamp().Time
	}
	return nil
}

// watch follows the tests to their end. It survives an API that is away for a while.
func (r *run) watch(ctx context.Context) (podState, error) {
	began := time.Now()
	answered, reached := began, began // the last answers of the API and of the pod
	var pulling time.Time             // since when an image cannot be pulled
	shown := ""
	limit := r.o.Timeout + r.o.times.start + 10*time.Minute // the tests end themselves after the timeout
	for poll.Sleep(ctx, r.o.times.poll) == nil {
		now := time.Now()
		if now.Sub(began) > limit {
			return podState{}, fmt.Errorf("the tests have not ended within %s", limit)
		}
		r.beat(ctx)
		state, err := r.look(ctx, now)
		switch {
		case apierrors.IsNotFound(err):
			return podState{}, fmt.Errorf("another program has deleted the pod %s/%s", Namespace, podName)
		case err != nil && now.Sub(answered) > r.o.times.api:
			return podState{}, fmt.Errorf("the API has not answered for %s: %w", r.o.times.api, err)
		case err != nil:
			r.o.Progress("the API does not answer; the tests go on: " + err.Error())
			reached = now // nobody could reach the pod
			if now.Sub(answered) > r.o.times.reconnect {
				r.reconnect(ctx)
			}
			continue
		}
		answered = now
		switch {
		case state.fault != "":
			return podState{}, fmt.Errorf("the pod of the tests: %s", state.fault)
		case state.ended:
			r.ended = true
			return state, nil
		case !state.running && state.pull:
			if pulling.IsZero() {
				pulling = now
			}
			if now.Sub(pulling) > r.o.times.pull {
				return podState{}, fmt.Errorf("node %s cannot get the image of the tests: %s; when it has no registry, deliver it: see docs/guides/conformance.md", r.o.Node, state.waiting)
			}
		}
		switch {
		case !state.running && now.Sub(began) > r.o.times.start:
			return podState{}, fmt.Errorf("the tests have not started within %s: %s%s", r.o.times.start, state.waiting, r.nodeProblem(ctx))
		case !state.running:
			reached = now
			continue
		case r.started.IsZero():
			r.started = now
		}
		if err := r.readLog(ctx, false); err == nil {
			reached = now
		} else if now.Sub(reached) > r.o.times.contact {
			return podState{}, fmt.Errorf("the pod of the tests has not answered for %s%s: %w", r.o.times.contact, r.nodeProblem(ctx), err)
		}
		if text := r.progress.String(); text != shown {
			shown = text
			r.o.Progress(text)
		}
	}
	return podState{}, context.Cause(ctx)
}

// reconnect opens the connection to the master again, when it is lost and can be opened. The error does not
// matter: the next requests show whether the API can be reached.
func (r *run) reconnect(ctx context.Context) {
	if r.o.Reconnect == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.o.times.reconnect)
	defer cancel()
	_ = r.o.Reconnect(ctx)
}

// look reads the state of the pod.
func (r *run) look(ctx context.Context, now time.Time) (podState, error) {
	found, err := r.o.Client.Get(ctx, kube.PodKind(), Namespace, podName)
	if err != nil {
		return podState{}, err
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &pod); err != nil {
		return podState{}, fmt.Errorf("reading pod %s/%s: %w", Namespace, podName, err)
	}
	state := stateOf(&pod, now)
	if state.ended && r.started.IsZero() {
		r.started = now
	}
	return state, nil
}
