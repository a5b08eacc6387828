package main

import (
	"fmt"
	"slices"
	"time"
)

// closingLine sums up for machines: medians in seconds and their ratio, "-" for
// what was not measured.
func closingLine(deployer, kubeadm []time.Duration) string {
	ratio := "-"
	if len(deployer) > 0 && len(kubeadm) > 0 {
		ratio = fmt.Sprintf("%.2f", median(deployer).Seconds()/median(kubeadm).Seconds())
	}
	return fmt.Sprintf("install deployer_s=%s kubeadm_s=%s ratio=%s", seconds(deployer), seconds(kubeadm), ratio)
}

func seconds(all []time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", median(all).Seconds())
}

// median of an even number is the mean of the two in the middle.
func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
