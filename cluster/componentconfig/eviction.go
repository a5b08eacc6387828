package componentconfig

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"deployer/strictyaml"
)

// signals returns the signals that eviction thresholds may have (kubernetes
// pkg/kubelet/eviction/api, Signal; eviction/helpers.go, validSignal).
func signals() []string {
	return []string{
		"memory.available", "allocatableMemory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree",
		"containerfs.available", "containerfs.inodesFree", "pid.available",
	}
}

// thresholds checks a map of signals to quantities or percentages
// (pkg/kubelet/eviction/helpers.go, parseThresholdStatement and
// parseMinimumReclaims).
func (k *checker) thresholds(key string, all map[string]string) {
	for _, signal := range sorted(all) {
		value, path := all[signal], []string{key, signal}
		if !k.signal(path, signal) {
			continue
		}
		digits, percentage := strings.CutSuffix(value, "%")
		if percentage {
			share, err := strconv.ParseFloat(digits, 32)
			if err != nil || share < 0 || share > 100 {
				k.add(path, "%q is not a percentage from 0%% to 100%%", value)
			}
			continue
		}
		quantity, err := resource.ParseQuantity(value)
		switch {
		case err != nil:
			k.add(path, "%q is neither a quantity such as 100Mi nor a percentage such as 5%%, so the kubelet would not start", value)
		case quantity.Sign() < 0 || quantity.Sign() == 0 && key != "evictionMinimumReclaim":
			k.add(path, "%q is not above zero: remove the threshold, or write 0%% to have none for this signal", value)
		}
	}
}

func (k *checker) signal(path []string, signal string) bool {
	known := slices.Contains(signals(), signal)
	if !known {
		k.add(path, "the kubelet knows no eviction signal %q%s", signal, strictyaml.DidYouMean(signal, signals()))
	}
	return known
}

// gracePeriods checks that every soft threshold has one, and that all are
// durations (eviction/helpers.go, parseGracePeriods and ParseThresholdConfig).
func (k *checker) gracePeriods(soft, periods map[string]string) {
	for _, signal := range sorted(periods) {
		path := []string{"evictionSoftGracePeriod", signal}
		d, err := time.ParseDuration(periods[signal])
		if k.signal(path, signal) && (err != nil || d < 0) {
			k.add(path, "%q is not a duration such as 30s", periods[signal])
		}
	}
	for _, signal := range sorted(soft) {
		if _, ok := periods[signal]; !ok {
			k.add([]string{"evictionSoft", signal}, "a soft threshold needs a grace period: set evictionSoftGracePeriod for %s, such as 90s", signal)
		}
	}
}

// reserved checks a map of resources that are kept from pods
// (cmd/kubelet/app/server.go, parseResourceList).
func (k *checker) reserved(key string, all map[string]string) {
	known := []string{"cpu", "memory", "ephemeral-storage", "pid"}
	for _, name := range sorted(all) {
		path := []string{key, name}
		if !slices.Contains(known, name) {
			k.add(path, "%q cannot be reserved: use %s", name, strings.Join(known, ", "))
			continue
		}
		if quantity, err := resource.ParseQuantity(all[name]); err != nil || quantity.Sign() < 0 {
			k.add(path, "%q is not a quantity such as 500m or 2Gi", all[name])
		}
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
