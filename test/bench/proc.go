//go:build unix

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc/PID/stat (proc(5)): on Linux, user space
// sees hundredths of a second on every machine.
const tick = 10 * time.Millisecond

// stat reads the fields of /proc/PID/stat behind the command's name, which may
// hold anything.
func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 22 {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields, nil
}

// family returns a process and all that descend from it.
func family(pid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // no process
		}
		fields, err := stat(child)
		if err != nil {
			continue // it has ended
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			children[parent] = append(children[parent], child)
		}
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all, nil
}

// cpuTime is what processes have used of processors.
func cpuTime(pids []int) (time.Duration, error) {
	sum := 0
	for _, pid := range pids {
		fields, err := stat(pid)
		if err != nil {
			return 0, err
		}
		for _, field := range fields[11:13] { // utime, stime
			n, err := strconv.Atoi(field)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return time.Duration(sum) * tick, nil
}

// resident is the memory of processes in MiB; what they share is counted once
// (Pss of proc_pid_smaps(5)).
func resident(pids []int) (float64, error) {
	sum := 0.0
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, "Pss:"); ok {
				kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
				if err != nil {
					return 0, err
				}
				sum += kib / 1024
			}
		}
	}
	return sum, nil
}
