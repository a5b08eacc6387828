package cri

import (
	"context"
	"fmt"
	"time"
)

// client speaks CRI (k8s.io/cri-api, runtime.v1) with a container runtime.
type client struct{ socket string }

const (
	runtimeService = "runtime.v1.RuntimeService/"
	imageService   = "runtime.v1.ImageService/"
)

// callTimeout is the maximum duration of one call, the kubelet's default
// (runtimeRequestTimeout).
const callTimeout = 2 * time.Minute

func (c client) call(ctx context.Context, method string, message fields) (parsed, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %s", callTimeout))
	defer cancel()
	raw, err := call(ctx, c.socket, method, message)
	if err != nil {
		return parsed{}, err
	}
	answer, err := parse(raw)
	if err != nil {
		return parsed{}, fmt.Errorf("%s: reading the answer: %w", method, err)
	}
	return answer, nil
}

// condition is one of the two conditions of the runtime.
type condition struct {
	ok  bool
	why string
}

// conditions returns RuntimeReady and NetworkReady.
func (c client) conditions(ctx context.Context) (map[string]condition, error) {
	answer, err := c.call(ctx, runtimeService+"Status", nil)
	if err != nil {
		return nil, err
	}
	status, err := parse([]byte(answer.text(1)))
	if err != nil {
		return nil, err
	}
	all := map[string]condition{}
	for _, raw := range status.bytes[1] {
		one, err := parse(raw)
		if err != nil {
			return nil, err
		}
		all[one.text(1)] = condition{ok: one.numbers[2] == 1, why: one.text(3) + " " + one.text(4)}
	}
	return all, nil
}

// hasImage reports whether the runtime has an image under this name.
func (c client) hasImage(ctx context.Context, name string) (bool, error) {
	answer, err := c.call(ctx, imageService+"ImageStatus", fields{}.message(1, fields{}.text(1, name)))
	return len(answer.bytes[1]) > 0, err
}

// pod is a pod sandbox in the runtime's list.
type pod struct {
	id, name string
	ready    bool
	created  time.Time
}

func (c client) pods(ctx context.Context) ([]pod, error) {
	answer, err := c.call(ctx, runtimeService+"ListPodSandbox", nil)
	if err != nil {
		return nil, err
	}
	var all []pod
	for _, raw := range answer.bytes[1] {
		one, err := parse(raw)
		if err != nil {
			return nil, err
		}
		metadata, err := parse([]byte(one.text(2)))
		if err != nil {
			return nil, err
		}
		all = append(all, pod{
			id: one.text(1), name: metadata.text(1), ready: one.numbers[3] == 0,
			created: time.Unix(0, int64(one.numbers[4])), //nolint:gosec // an int64 on the wire
		})
	}
	return all, nil
}

// cgroupfs reports whether the runtime creates control groups itself; otherwise systemd
// does.
func (c client) cgroupfs(ctx context.Context) (bool, error) {
	answer, err := c.call(ctx, runtimeService+"RuntimeConfig", nil)
	if err != nil {
		return false, err
	}
	linux, err := parse([]byte(answer.text(1)))
	return linux.numbers[1] == 1, err
}

// start runs a pod in the host's network that consists of its pause container.
func (c client) start(ctx context.Context, name, parent string) (id string, err error) {
	metadata := fields{}.text(1, name).text(2, name).text(3, "deployer")
	hostNetwork := fields{}.message(1, fields{}.number(1, 2)) // NamespaceMode NODE
	linux := fields{}.text(1, parent).message(2, hostNetwork)
	config := fields{}.message(1, metadata).message(8, linux)
	answer, err := c.call(ctx, runtimeService+"RunPodSandbox", fields{}.message(1, config))
	return answer.text(1), err
}

// remove stops a pod and removes it.
func (c client) remove(ctx context.Context, id string) error {
	for _, method := range []string{"StopPodSandbox", "RemovePodSandbox"} {
		if _, err := c.call(ctx, runtimeService+method, fields{}.text(1, id)); err != nil {
			return err
		}
	}
	return nil
}

// endGrace is the time in seconds that a container has to end by itself, the default of pods
// (terminationGracePeriodSeconds).
const endGrace = 30

// end ends the containers of a pod, each with its grace period, and its network.
func (c client) end(ctx context.Context, id string) error {
	running := fields{}.message(2, fields{}.number(1, containerRunning))
	answer, err := c.call(ctx, runtimeService+"ListContainers", fields{}.message(1, running.text(3, id)))
	if err != nil {
		return err
	}
	for _, raw := range answer.bytes[1] {
		container, err := parse(raw)
		if err != nil {
			return err
		}
		if _, err := c.call(ctx, runtimeService+"StopContainer", fields{}.text(1, container.text(1)).number(2, endGrace)); err != nil {
			return err
		}
	}
	_, err = c.call(ctx, runtimeService+"StopPodSandbox", fields{}.text(1, id))
	return err
}

// containerRunning is CONTAINER_RUNNING of ContainerState.
const containerRunning = 1
