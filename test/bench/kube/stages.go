package kube

import _ "embed"

// PodStages is the part of KWOK's configuration that plays pods.
//
//go:embed pods.yaml
var PodStages []byte
