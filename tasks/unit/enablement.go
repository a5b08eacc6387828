package unit

import (
	"context"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// enabling returns the systemctl verb for the wanted value of enabled, or "". Units
// without an [Install] section have nothing to enable.
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

// masking returns the verb that masks the unit if needed; unmasking the one that
// unmasks it.
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

// systemctl runs a verb on the unit, unless the verb is empty.
func (u *Unit) systemctl(ctx context.Context, sys engine.System, verb string) error {
	if verb == "" {
		return nil
	}
	_, err := hostcmd.Run(ctx, sys, "systemctl", verb, u.Name)
	return err
}
