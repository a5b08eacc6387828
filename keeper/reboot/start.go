package reboot

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"deployer/tasks/control/drain"
	"deployer/tasks/poll"
)

// maxPause is the maximum time between two looks at a Node that is not Ready, or at an API that does not
// answer.
const maxPause = 15 * time.Second

// Start uncordons the Node when it is Ready, if this host has cordoned it and nobody else has decided
// about it since. Without a record it returns at once. It waits without a limit, because a node that has
// not come up must not stay cordoned when it does; a shutdown ends it.
func (h *Host) Start(ctx context.Context) error {
	boot, err := h.readBootID()
	if err != nil {
		return err
	}
	last, pause := "", h.interval
	for ctx.Err() == nil { // systemd ends it at a shutdown
		var state string
		if err := h.record.exclusively(func() (err error) {
			state, err = h.uncordon(ctx, boot)
			return err
		}); err != nil {
			state = err.Error()
		}
		if state == "" {
			break
		}
		if state != last {
			h.log.Info("the node stays cordoned for now", "reason", state)
			last = state
		}
		_ = poll.Sleep(ctx, pause) // its error is that of ctx
		pause = min(2*pause, maxPause)
	}
	return nil
}

// uncordon makes one attempt, and returns the reason for another one; empty when there is nothing more to
// do.
func (h *Host) uncordon(ctx context.Context, boot string) (again string, err error) {
	mark, recorded, err := h.record.read()
	if err != nil {
		h.log.Error("the host cannot know whether it has cordoned its node", "error", err)
		return "", nil
	}
	if !recorded {
		return "", nil
	}
	if down, err := h.goingDown(ctx); err != nil || down {
		return "", err
	}
	found, err := ask(ctx, func(ctx context.Context) (drain.Rebooted, error) {
		return drain.UncordonAfterReboot(ctx, h.api, h.config.Node, mark.ID, boot)
	})
	switch {
	case apierrors.IsNotFound(err):
		h.log.Info("there is no such node any more", "node", h.config.Node)
	case err != nil:
		return "", err
	case found == drain.NotReady:
		return "it is not Ready in this boot", nil
	case found == drain.NotOurs:
		h.log.Info("somebody else has decided about the node since it was cordoned, so it stays as it is", "node", h.config.Node)
	case found == drain.Uncordoned:
		h.log.Info("the node takes pods again", "node", h.config.Node, "cordoned", time.Since(mark.Since).Round(time.Second).String())
	}
	return "", h.record.remove()
}
