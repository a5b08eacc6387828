package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"deployer/test/lab/container"
	"deployer/test/lab/image"
	"deployer/test/lab/netns"
	"deployer/test/lab/plan"
)

// Down removes the lab with all its parts on the machine.
func (l *Lab) Down(ctx context.Context) error {
	defer l.owner.release()
	return Down(ctx, l.Name)
}

// Down removes labs by name, complete or incomplete; an unknown name is no error. It
// waits for a process that creates or removes the same lab.
func Down(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := plan.CheckName(name); err != nil {
			return err
		}
	}
	l, err := prepare(ctx, "", Options{})
	if err != nil {
		return err
	}
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { errs[i] = down(ctx, l.engine, l.place, name) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func down(ctx context.Context, e container.Engine, p place, name string) error {
	work, err := acquire(p.work(name), true)
	if err != nil {
		return err
	}
	defer work.release()
	return remove(ctx, e, p, name)
}

// remove removes all parts of a lab that exist on the machine, whatever the lab's state
// records, so that it clears incomplete labs too. It removes the state last, so that an
// interrupted removal can be repeated.
func remove(ctx context.Context, e container.Engine, p place, name string) error {
	if err := settle(ctx, name); err != nil {
		return err
	}
	if err := removeContainers(ctx, e, name); err != nil {
		return fmt.Errorf("removing lab %s: %w", name, err)
	}
	spaces, err := netns.List()
	if err != nil {
		return fmt.Errorf("removing lab %s: %w", name, err)
	}
	var errs []error
	for _, ns := range spaces {
		if of, _ := plan.LabOf(ns); of == name {
			errs = append(errs, netns.Delete(ctx, ns))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("removing lab %s: %w", name, err)
	}
	if err := p.close(name); err != nil {
		return fmt.Errorf("removing lab %s: %w", name, err)
	}
	if dead, err := acquire(p.owner(name), false); err == nil {
		dead.release() // takes the file away that a killed owner left
	}
	return nil
}

func removeContainers(ctx context.Context, e container.Engine, name string) error {
	boxes, err := e.Containers(ctx)
	if err != nil {
		return err
	}
	var mine []string
	for _, b := range boxes {
		if b.Lab == name {
			mine = append(mine, b.Name)
		}
	}
	if err := e.Remove(ctx, mine...); err != nil {
		return err
	}
	volumes, err := e.Volumes(ctx)
	if err != nil {
		return err
	}
	volumes = slices.DeleteFunc(volumes, func(v string) bool { of, _ := plan.LabOf(v); return of != name })
	return e.RemoveVolumes(ctx, volumes...)
}

// DownImages removes the cached host images; the next Up builds a new one.
func DownImages(ctx context.Context) error {
	l, err := prepare(ctx, "", Options{})
	if err != nil {
		return err
	}
	return l.engine.RemoveImages(ctx, image.Repository)
}

// Names lists every lab with any part on the machine: state, containers, volumes or
// network namespaces.
func Names(ctx context.Context) ([]string, error) {
	l, err := prepare(ctx, "", Options{})
	if err != nil {
		return nil, err
	}
	return names(ctx, l.engine, l.place)
}

func names(ctx context.Context, e container.Engine, p place) ([]string, error) {
	labs, err := p.labs()
	if err != nil {
		return nil, err
	}
	boxes, err := e.Containers(ctx)
	if err != nil {
		return nil, err
	}
	volumes, err := e.Volumes(ctx)
	if err != nil {
		return nil, err
	}
	spaces, err := netns.List()
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, lab := range labs {
		found[lab] = true
	}
	for _, b := range boxes {
		found[b.Lab] = true
	}
	for _, r := range slices.Concat(volumes, spaces) {
		if lab, ok := plan.LabOf(r); ok {
			found[lab] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
