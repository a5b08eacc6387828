package unit

import (
	"context"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// enabling is the systemctl verb that enabled asks for, or empty. Units without
// an [Install] section have nothing to enable.
func (u *Unit) enabling(now status) string {
	if u.Enabled == nil {
		return ""
	}
	on := now.FileState == "enabled" || now.FileState == "alias"
	fixed := now.FileState == "static" || now.FileState == "generated" || now.FileState == "indirect" || now.FileState == "transient"
	switch {
	case fixed || on == *u.Enabled:
		return ""
	case *u.Enabled:
		return "enable"
	case now.Load == "not-found" || now.FileState == "masked":
		return ""
	}
	return "disable"
}

// masking is the verb that forbids a unit to start, if that is asked for and not
// so; unmasking the one that allows it again.
func (u *Unit) masking(now status) string {
	if u.Masked != nil && *u.Masked && now.FileState != "masked" {
		return "mask"
	}
	return ""
}

func (u *Unit) unmasking(now status) string {
	if u.Masked != nil && !*u.Masked && now.FileState == "masked" {
		return "unmask"
	}
	return ""
}

// systemctl runs a verb, if there is one, on the unit.
func (u *Unit) systemctl(ctx context.Context, sys engine.System, verb string) error {
	if verb == "" {
		return nil
	}
	_, err := hostcmd.Run(ctx, sys, "systemctl", verb, u.Name)
	return err
}
