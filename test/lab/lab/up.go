package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"deployer/test/lab/command"
	"deployer/test/lab/container"
	"deployer/test/lab/image"
	"deployer/test/lab/machine"
	"deployer/test/lab/netns"
	"deployer/test/lab/plan"
)

// Up creates a lab and returns when every host has booted without a failed unit and
// answers over SSH. It first removes an incomplete lab of the same name; a running one
// is an error. On a failure nothing of the lab remains.
func Up(ctx context.Context, spec plan.Spec, opt Options) (*Lab, error) {
	hosts, err := spec.Layout()
	if err != nil {
		return nil, err
	}
	l, err := prepare(ctx, spec.Name, opt)
	if err != nil {
		return nil, err
	}
	l.Hosts = hosts
	work, err := acquire(l.place.work(l.Name), false)
	if err != nil {
		return nil, fmt.Errorf("lab %s is being made or removed: %w", l.Name, err)
	}
	defer work.release()
	if err := l.clear(ctx); err != nil {
		return nil, err
	}
	if err := l.make(ctx, opt.Tied); err != nil {
		again, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		left := remove(again, l.engine, l.place, l.Name)
		l.owner.release()
		if ctx.Err() != nil { // all stopped commands have the same error
			err = fmt.Errorf("making lab %s: %w", l.Name, context.Cause(ctx))
		}
		return nil, errors.Join(err, left)
	}
	return l, nil
}

// clear removes the parts of an incomplete or abandoned lab of the same name. It fails
// when a complete lab of that name is up.
func (l *Lab) clear(ctx context.Context) error {
	s, err := l.place.load(l.Name)
	if err == nil && s.Complete && !abandoned(l.place, s) {
		return fmt.Errorf("lab %s is up already; `down --name %s` removes it", l.Name, l.Name)
	}
	return remove(ctx, l.engine, l.place, l.Name)
}

func (l *Lab) make(ctx context.Context, tied bool) error {
	raised, err := machine.RaiseLimits()
	for _, r := range raised {
		l.report("raising a limit of this machine's kernel: " + r)
	}
	if err != nil {
		return err
	}
	ref, err := l.image(ctx)
	if err != nil {
		return err
	}
	if tied {
		if l.owner, err = acquire(l.place.owner(l.Name), false); err != nil {
			return fmt.Errorf("lab %s belongs to a process that runs: %w", l.Name, err)
		}
	}
	if err := l.place.open(l.Name); err != nil {
		return err
	}
	l.Files = l.place.files(l.Name)
	s := state{Name: l.Name, Image: ref, Hosts: l.Hosts, Tied: tied}
	if err := l.place.save(s); err != nil {
		return err
	}
	key, err := l.keyPair(ctx)
	if err != nil {
		return err
	}
	if err := netns.AddLab(ctx, l.Name); err != nil {
		return err
	}
	if err := l.nameServer(ctx, ref); err != nil {
		return err
	}
	known, err := l.bootAll(ctx, ref, key)
	if err != nil {
		return err
	}
	if err := l.writeFiles(known); err != nil {
		return err
	}
	if err := l.each(func(h plan.Host) error { return l.answers(ctx, h) }); err != nil {
		return err
	}
	if err := l.resolves(ctx, l.Hosts[0]); err != nil {
		return err
	}
	s.Complete = true
	return l.place.save(s)
}

// image builds the host image unless it exists. Of several labs that need it at a
// time only one builds it.
func (l *Lab) image(ctx context.Context) (string, error) {
	lk, err := acquire(l.place.image(), true)
	if err != nil {
		return "", err
	}
	defer lk.release()
	return image.Ensure(ctx, l.engine, l.place.build(), l.packages, func(line string) { l.report("image: " + line) })
}

func (l *Lab) keyPair(ctx context.Context) (public string, err error) {
	if _, err := command.Output(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "deployer-lab-"+l.Name, "-f", l.Files.Key()); err != nil {
		return "", fmt.Errorf("making the lab's SSH key: %w", err)
	}
	text, err := os.ReadFile(l.Files.PublicKey())
	if err != nil {
		return "", fmt.Errorf("making the lab's SSH key: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// bootAll starts all hosts at once and returns their known_hosts lines.
func (l *Lab) bootAll(ctx context.Context, ref, key string) ([]byte, error) {
	known := make([][]byte, len(l.Hosts))
	err := l.each(func(h plan.Host) error {
		start := time.Now()
		box := container.Box{
			Lab: l.Name, Host: h, Image: ref, Network: netns.Path(l.box(h.Name)),
			Env: map[string]string{"LAB_AUTHORIZED_KEY": key, "LAB_NAMESERVER": plan.Controller().String()},
		}
		err := l.power(ctx, h, func() error { return l.engine.Run(ctx, box) })
		if err != nil {
			return err
		}
		lines, err := l.hostKeys(ctx, h)
		if err != nil {
			return err
		}
		known[slices.Index(l.Hosts, h)] = lines
		l.report(fmt.Sprintf("%s (%s) booted in %.1f s", h.Name, h.Address, time.Since(start).Seconds()))
		return nil
	})
	return bytes.Join(known, nil), err
}

// hostKeys reads the public keys on the host itself, not over the network, so that
// known_hosts does not depend on the first answer over the network.
func (l *Lab) hostKeys(ctx context.Context, h plan.Host) ([]byte, error) {
	keys, err := l.engine.Exec(ctx, l.box(h.Name), "sh", "-c", "cat /etc/ssh/ssh_host_*_key.pub")
	if err != nil {
		return nil, fmt.Errorf("reading the host keys of %s: %w", h.Name, err)
	}
	return plan.KnownHosts(h, keys)
}

func (l *Lab) writeFiles(known []byte) error {
	inventory, err := plan.Inventory(l.Files, l.Hosts)
	if err != nil {
		return err
	}
	for path, content := range map[string][]byte{
		l.Files.KnownHosts(): known,
		l.Files.SSHConfig():  plan.SSHConfig(l.Files, l.Hosts),
		l.Files.Inventory():  inventory,
	} {
		if err := renameio.WriteFile(path, content, 0o644); err != nil {
			return fmt.Errorf("writing the lab's files: %w", err)
		}
	}
	return nil
}

// each calls do for all hosts at once and returns all errors together.
func (l *Lab) each(do func(plan.Host) error) error {
	errs := make([]error, len(l.Hosts))
	var wg sync.WaitGroup
	for i, h := range l.Hosts {
		wg.Go(func() { errs[i] = do(h) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
