package reboot

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// podsDir is where the kubelet mounts the volumes of pods (its --root-dir, and getPodsDir).
const podsDir = "/var/lib/kubelet/pods/"

// mountedPods returns the pods among some that have mounts of volumes in a text of /proc/self/mountinfo
// (proc(5): the fifth word of a line is the mount point).
func mountedPods(mountinfo string, pods []types.UID) []types.UID {
	var out []types.UID
	for line := range strings.Lines(mountinfo) {
		words := strings.Fields(line)
		if len(words) < 5 {
			continue
		}
		rest, below := strings.CutPrefix(words[4], podsDir)
		uid, inside, _ := strings.Cut(rest, "/")
		volume := strings.HasPrefix(inside, "volumes/") || strings.HasPrefix(inside, "volume-subpaths/")
		if id := types.UID(uid); below && volume && slices.Contains(pods, id) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
