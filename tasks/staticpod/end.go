package staticpod

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/tasks/httpcheck"
	"deployer/tasks/receipt"
)

// signalEnd ends a program that does not read its files again; the kubelet restarts it.
const signalEnd = "TERM"

// defaultEndTimeout is the maximum wait for the new container. A pod has 30 s to end, and
// the kubelet waits 10 s before it starts a container for a second time within 10 min.
const defaultEndTimeout = 2 * time.Minute

// End ends the first container of a static pod, so that the kubelet starts another one in its
// place, and does not wait for that. It reports false without an error when the pod does not run
// as its manifest says: the kubelet starts it anyway.
func End(ctx context.Context, sys engine.System, manifest string) (bool, error) {
	r := &Reload{Manifest: manifest}
	t, err := r.target(ctx, sys)
	if err != nil || t.container == "" {
		return false, err
	}
	return true, r.kill(ctx, sys, t)
}

// kill sends signalEnd. containerd delivers the signal, so that no other process can get it that
// has the number of one that ended.
func (r *Reload) kill(ctx context.Context, sys engine.System, t target) error {
	if _, err := r.pod().containerd(sys).Run(ctx, "tasks", "kill", "--signal", "SIG"+signalEnd, t.container); err != nil {
		return fmt.Errorf("sending SIG%s to container %s: %w", signalEnd, t.container, err)
	}
	return nil
}

// end ends a container and waits until the kubelet has started another one in its place.
func (r *Reload) end(ctx context.Context, sys engine.System, t target) (engine.Output, error) {
	began, name := time.Now(), t.manifest.Metadata.Name
	read, started := r.stamps(sys), "" // before the program reads them, so that a later change is seen
	if err := r.kill(ctx, sys, t); err != nil {
		return nil, err
	}
	err := httpcheck.Poll(ctx, cmp.Or(r.Timeout, defaultEndTimeout), time.Second, sys.Progress, func(ctx context.Context) error {
		now, err := r.target(ctx, sys)
		switch {
		case err != nil:
			return err
		case now.container == t.container:
			return fmt.Errorf("container %s has not ended yet", t.container)
		case now.container == "":
			return fmt.Errorf("the kubelet has not started pod %s again yet", name)
		}
		started = now.container
		return nil
	})
	if err != nil {
		return nil, &engine.Failure{Message: fmt.Sprintf("static pod %s has not started again: %v", name, err), Detail: lastLog(sys, t.manifest)}
	}
	if err := receipt.Write(sys, r.receiptPath(), reading{Container: started, Files: read}); err != nil {
		return nil, err
	}
	return engine.Output{"elapsed_seconds": time.Since(began).Seconds()}, nil
}
