package tasks

import (
	"slices"
	"testing"
	"time"

	"deployer/engine"
	"deployer/strictyaml"
	"deployer/tasks/control"
)

// TestTimeLimits: every module has a time limit, unless its arguments have a timeout of
// their own.
func TestTimeLimits(t *testing.T) {
	t.Parallel()
	named := 0
	for _, k := range slices.Concat(Modules(), control.General(), control.Actions()) {
		own := slices.ContainsFunc(strictyaml.Describe(k.New()), func(key strictyaml.Key) bool { return key.Path == "timeout" || key.Path == "reboot_timeout" })
		switch limit := k.EffectiveTimeLimit(); {
		case k.Name == "unit" || k.Name == "service": // its timeout limits the wait after the job of systemd
		case own != (limit == 0):
			t.Errorf("%s: limit %v, timeout among its arguments: %t", k.Name, limit, own)
		case !own && limit < time.Hour:
			t.Errorf("%s: limit %v is below one hour", k.Name, limit)
		}
		if _, ok := timeLimits[k.Name]; ok {
			named++
		}
	}
	if named != len(timeLimits) {
		t.Errorf("%d of %d limits are of existing kinds", named, len(timeLimits))
	}
	if limit := engine.NewRegistry(Modules())["package"].EffectiveTimeLimit(); limit != 4*time.Hour {
		t.Errorf("the limit of package is %v", limit)
	}
}
