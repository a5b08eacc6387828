package main

import (
	"fmt"
	"time"

	"deployer/test/bench/measure"
)

// closingLine sums up for machines: medians in seconds and their ratio, "-" for
// what was not measured.
func closingLine(deployer, kubeadm []time.Duration) string {
	ratio := "-"
	if len(deployer) > 0 && len(kubeadm) > 0 {
		ratio = fmt.Sprintf("%.2f", measure.Median(deployer).Seconds()/measure.Median(kubeadm).Seconds())
	}
	return fmt.Sprintf("install deployer_s=%s kubeadm_s=%s ratio=%s", seconds(deployer), seconds(kubeadm), ratio)
}

func seconds(all []time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", measure.Median(all).Seconds())
}
