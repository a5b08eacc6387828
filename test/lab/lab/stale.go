package lab

import (
	"context"
	"errors"

	"deployer/test/lab/container"
)

// Sweep removes abandoned labs: those whose process has ended and the incomplete ones of
// killed processes. It returns their names. Labs without a process and labs in use stay.
func Sweep(ctx context.Context) ([]string, error) {
	l, err := prepare(ctx, "", Options{})
	if err != nil {
		return nil, err
	}
	all, err := names(ctx, l.engine, l.place)
	if err != nil {
		return nil, err
	}
	var gone []string
	var errs []error
	for _, name := range all {
		swept, err := sweep(ctx, l.engine, l.place, name)
		errs = append(errs, err)
		if swept {
			gone = append(gone, name)
		}
	}
	return gone, errors.Join(errs...)
}

func sweep(ctx context.Context, e container.Engine, p place, name string) (bool, error) {
	work, err := acquire(p.work(name), false)
	if errors.Is(err, errHeld) {
		return false, nil // another process is creating or removing the lab
	}
	if err != nil {
		return false, err
	}
	defer work.release()
	if s, err := p.load(name); err == nil && s.Complete && !abandoned(p, s) {
		return false, nil
	}
	return true, remove(ctx, e, p, name)
}

// abandoned reports whether a lab was tied to a process that has ended.
func abandoned(p place, s state) bool {
	if !s.Tied {
		return false
	}
	owner, err := acquire(p.owner(s.Name), false)
	if err != nil {
		return false
	}
	owner.release()
	return true
}
