package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"deployer/engine/transport"
)

// store sends the agent program and has it put in place under its digest. Two
// controllers may do so at once: each writes a file of its own and renames it.
func (c *connector) store(ctx context.Context, host *probed) error {
	program, err := c.opts.Binaries.program(host.arch())
	if err != nil {
		return err
	}
	content, form := program.plain, "plain"
	if host.gzip {
		content, form = program.gzipped, "gzip"
	}
	data, err := content()
	if err != nil {
		return fmt.Errorf("agent for %s: %w", host.arch(), err)
	}
	p, err := c.begin(ctx, command(storeScript, c.marker, c.privilege(), host.dir, program.digest, form))
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	defer stop()
	go func() {
		_, _ = io.Copy(p.Stdin(), bytes.NewReader(data))
		_ = p.Stdin().Close()
	}()
	answer, err := readProbe(p.out, c.marker)
	if err != nil {
		return c.silent(p, answer, fmt.Errorf("sending the agent: %w", err))
	}
	exit, err := p.Wait()
	_ = p.Close()
	switch {
	case answer.stored:
		c.sent = len(data)
		return nil
	case answer.problem == "digest":
		return c.fail(transport.StageAgent, transport.Lost, fmt.Errorf("the agent arrived damaged: its SHA-256 is %q, not %s", clean(answer.digest), program.digest))
	case err != nil:
		return err
	}
	return &transport.Error{Host: c.opts.Host, Stage: transport.StageAgent, Kind: transport.Config,
		Err:    fmt.Errorf("the agent could not be written to %s%s", clean(host.dir), said(exit.Stderr)),
		Advice: "free some space there"}
}
