package tasks

import (
	"slices"
	"testing"
	"time"

	"deployer/engine"
	"deployer/strictyaml"
	"deployer/tasks/control"
)

// TestTimeLimits: nothing runs for ever unless its own arguments bound it, and
// these are not overruled.
func TestTimeLimits(t *testing.T) {
	t.Parallel()
	named := 0
	for _, k := range slices.Concat(Modules(), control.General(), control.Actions()) {
		own := slices.ContainsFunc(strictyaml.Describe(k.New()), func(key strictyaml.Key) bool { return key.Path == "timeout" || key.Path == "reboot_timeout" })
		switch limit := k.EffectiveTimeLimit(); {
		case k.Name == "unit" || k.Name == "service": // its timeout is for what comes after systemd has done its part
		case own != (limit == 0):
			t.Errorf("%s: limit %v, and it has a timeout of its own: %t", k.Name, limit, own)
		case !own && limit < time.Hour:
			t.Errorf("%s: limit %v is not generous", k.Name, limit)
		}
		if _, ok := timeLimits[k.Name]; ok {
			named++
		}
	}
	if named != len(timeLimits) {
		t.Errorf("%d of %d limits are of kinds that there are", named, len(timeLimits))
	}
	if limit := engine.NewRegistry(Modules())["package"].EffectiveTimeLimit(); limit != 4*time.Hour {
		t.Errorf("packages may take %v", limit)
	}
}
