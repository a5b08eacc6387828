package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// frame encodes an event as an API server does.
func frame(t *testing.T, kind string, object interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	marshal := func(m interface{ Marshal() ([]byte, error) }) []byte {
		data, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	unknown := append([]byte(protobufMagic), marshal(&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: marshal(object)})...)
	event := marshal(&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: unknown}})
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...)
}

func TestReadFrame(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", ResourceVersion: "4711"}, Spec: corev1.PodSpec{NodeName: "n0001"}}
	stream := bytes.NewReader(append(frame(t, "MODIFIED", pod), frame(t, "ERROR", &metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired})...))
	event, buffer, err := readFrame(stream, nil)
	if err != nil || event != (watchEvent{kind: "MODIFIED", version: "4711"}) {
		t.Fatalf("got %+v, %v", event, err)
	}
	event, buffer, err = readFrame(stream, buffer)
	if err != nil || event != (watchEvent{kind: "ERROR", code: 410}) {
		t.Fatalf("got %+v, %v", event, err)
	}
	if _, _, err = readFrame(stream, buffer); !errors.Is(err, io.EOF) {
		t.Errorf("got %v at the end", err)
	}
}

func TestReadFrameRefusesOtherBytes(t *testing.T) {
	whole := frame(t, "ADDED", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}})
	for name, data := range map[string][]byte{
		"cut off":   whole[:len(whole)-1],
		"too large": {0xff, 0, 0, 0},
		"JSON":      append([]byte{0, 0, 0, 9}, `{"a":"b"}`...),
	} {
		if event, _, err := readFrame(bytes.NewReader(data), nil); err == nil {
			t.Errorf("%s: got %+v", name, event)
		}
	}
}
