package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"deployer/test/bench/measure"
	"deployer/test/lab/lab"
	"deployer/test/lab/plan"
)

// initConfigPath is the path of kubeadm's configuration on the first master.
const initConfigPath = "/root/kubeadm.yaml"

// measureKubeadm times the preparation of the hosts, and then init, the joins and
// the wait until all nodes are Ready.
func (b *benchmark) measureKubeadm(ctx context.Context, l *lab.Lab, log string) (m measurement, err error) {
	run, err := b.prepareKubeadm(ctx, l)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.WriteFile(log, run.said.Bytes(), 0o644)) }()
	settle()
	b.say("kubeadm starts; what it says goes to %s", log)
	before, err := measure.Look(ctx, l)
	if err != nil {
		return m, err
	}
	start := time.Now()
	for _, p := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"kubeadm init", run.init},
		{"kubeadm join, masters one after the other", run.joinMasters},
		{"kubeadm join, minions together", run.joinMinions},
		{"until all nodes are Ready", func(ctx context.Context) error { return waitReady(ctx, l) }},
	} {
		begun := time.Now()
		if err := p.do(ctx); err != nil {
			return m, fmt.Errorf("%s: %w", p.name, err)
		}
		m.phases = append(m.phases, phase{p.name, time.Since(begun)})
	}
	m.took, m.prepared = time.Since(start), run.prepared
	m.notes = append(m.notes, fmt.Sprintf("before that, to prepare the hosts: %.1f s", run.prepared.Seconds()))
	after, err := measure.Look(ctx, l)
	if err != nil {
		return m, err
	}
	m.usage = after.Since(before)
	lines, err := outcome(ctx, l)
	m.notes = append(m.notes, lines...)
	return m, err
}

// kubeadmRun is the creation of one cluster with kubeadm.
type kubeadmRun struct {
	lab      *lab.Lab
	secrets  secrets
	prepared time.Duration // duration of the hosts' preparation
	caHash   string        // known after init
	said     bytes.Buffer  // output of the programs, for the log
}

func (b *benchmark) prepareKubeadm(ctx context.Context, l *lab.Lab) (*kubeadmRun, error) {
	material, err := b.gather(ctx)
	if err != nil {
		return nil, err
	}
	special, err := readOverrides(l.Files.Inventory())
	if err != nil {
		return nil, err
	}
	b.say("preparing the hosts for kubeadm")
	settle()
	start := time.Now()
	if err := prepare(ctx, l, material, special); err != nil {
		return nil, err
	}
	run := &kubeadmRun{lab: l, secrets: newSecrets(), prepared: time.Since(start)}
	first := l.Hosts[0]
	config, err := initConfig(first, material, special, run.secrets)
	if err != nil {
		return nil, err
	}
	if err := feed(ctx, l, first.Name, place(initConfigPath, "0600"), bytes.NewReader(config)); err != nil {
		return nil, err
	}
	return run, checkImages(ctx, l, material)
}

// newSecrets returns random secrets in kubeadm's formats: a token of 6 and 16
// characters, an AES-256 key in hexadecimal.
func newSecrets() secrets {
	random := func(bytes int) string {
		b := make([]byte, bytes)
		rand.Read(b) // never fails, see crypto/rand
		return hex.EncodeToString(b)
	}
	return secrets{token: random(3) + "." + random(8), certificateKey: random(32)}
}

var caHash = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

func (r *kubeadmRun) init(ctx context.Context) error {
	out, err := r.on(ctx, r.lab.Hosts[0], "kubeadm init --upload-certs --config "+initConfigPath)
	if err != nil {
		return err
	}
	if r.caHash = caHash.FindString(out); r.caHash == "" {
		return fmt.Errorf("kubeadm init printed no digest of the authority to join with:\n%s", out)
	}
	return nil
}

// joinMasters joins the masters one after the other: each join changes the membership
// of etcd, which accepts one change at a time.
func (r *kubeadmRun) joinMasters(ctx context.Context) error {
	for _, h := range r.lab.Hosts[1:] {
		if h.Role != "master" {
			continue
		}
		line := r.join() + fmt.Sprintf(" --control-plane --certificate-key %s --apiserver-advertise-address %s", r.secrets.certificateKey, h.Address)
		if _, err := r.on(ctx, h, line); err != nil {
			return err
		}
	}
	return nil
}

func (r *kubeadmRun) joinMinions(ctx context.Context) error {
	work, ctx := errgroup.WithContext(ctx)
	outputs := make([]string, len(r.lab.Hosts))
	for i, h := range r.lab.Hosts {
		if h.Role == "minion" {
			work.Go(func() (err error) { outputs[i], err = r.ask(ctx, h, r.join()); return err })
		}
	}
	err := work.Wait()
	r.said.WriteString(strings.Join(outputs, ""))
	return err
}

func (r *kubeadmRun) join() string {
	return fmt.Sprintf("kubeadm join %s --token %s --discovery-token-ca-cert-hash %s --ignore-preflight-errors %s",
		endpoint(r.lab.Hosts[0]), r.secrets.token, r.caHash, strings.Join(ignoredChecks(), ","))
}

// on runs a shell line on a host and keeps its output for the log.
func (r *kubeadmRun) on(ctx context.Context, h plan.Host, line string) (string, error) {
	out, err := r.ask(ctx, h, line)
	r.said.WriteString(out)
	return out, err
}

// ask runs a shell line on a host and returns its output without secrets.
func (r *kubeadmRun) ask(ctx context.Context, h plan.Host, line string) (string, error) {
	out, err := r.lab.SSH(ctx, h.Name, line+" 2>&1")
	out = strings.NewReplacer(r.secrets.token, "[token]", r.secrets.certificateKey, "[key]").Replace(out)
	out = fmt.Sprintf("== %s: %s\n%s\n", h.Name, strings.Join(strings.Fields(line)[:2], " "), out)
	if err != nil {
		return out, fmt.Errorf("on %s: %w\n%s", h.Name, err, out)
	}
	return out, nil
}
