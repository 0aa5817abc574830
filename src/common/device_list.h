/*-------------------------------------------------------------------------
 *
 * device_list.h
 *	  The value of gpusort.devices: "all", or a list of devices.
 *
 * A list names devices by their numbers, as "0,2", or by their UUIDs as
 * nvidia-smi prints them, as "GPU-..." or "MIG-...", and never by both: CUDA
 * shows a slice of a GPU (MIG) only to a process that names it in
 * CUDA_VISIBLE_DEVICES, and numbers the devices anew then.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_LIST_H
#define GPUSORT_DEVICE_LIST_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

/* Digits of a device's number, more than any machine needs. */
#define LONGEST_DEVICE_NUMBER	4

/* An entry of a list. */
typedef struct ListedDevice
{
	int			number;			/* number, -1 if the entry is a UUID */
	char		name[DEVICE_UUID_SIZE]; /* text of the entry */
} ListedDevice;

typedef struct DeviceList
{
	const char *text;			/* the value itself, owned by the caller */
	bool		is_all;			/* every device that can be used; no entries */
	bool		has_slices;		/* some entries are slices of GPUs */
	int			count;
	ListedDevice entries[MAX_DEVICES];
} DeviceList;

static inline const char *
skip_spaces(const char *string)
{
	return string + strspn(string, " \t\n\r\f\v");
}

/* Length of the UUID with its prefix that the string begins with; 0 for none. */
static inline size_t
device_uuid_length(const char *string)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	const size_t prefix = 4;

	if (strncmp(string, "GPU-", prefix) != 0 && strncmp(string, "MIG-", prefix) != 0)
		return 0;
	string += prefix;
	for (size_t i = 0; i < sizeof(form) - 1; i++)
	{
		if (form[i] == 'x' ? string[i] == '\0' ||
			strchr("0123456789abcdefABCDEF", string[i]) == NULL :
			string[i] != form[i])
			return 0;
	}
	return DEVICE_UUID_SIZE - 1;
}

/*
 * Reads the entry at *string into *device, which is all zeros, and moves
 * *string to the end of the entry.  False if there is no valid entry.
 */
static inline bool
read_listed_device(const char **string, ListedDevice *device)
{
	const char *name = skip_spaces(*string);
	size_t		digits = strspn(name, "0123456789");
	size_t		length = digits > 0 ? digits : device_uuid_length(name);

	if (length == 0 || digits > LONGEST_DEVICE_NUMBER)
		return false;
	device->number = digits > 0 ? atoi(name) : -1;
	memcpy(device->name, name, length);
	*string = skip_spaces(name + length);
	return **string == ',' || **string == '\0';
}

/*
 * Reads a value of gpusort.devices; false if it is not valid.  The list points
 * to the string, which has to stay.
 */
static inline bool
device_list_read(const char *string, DeviceList *list)
{
	const char *rest = string;

	memset(list, 0, sizeof(DeviceList));
	list->text = string;
	list->is_all = strcmp(string, "all") == 0;
	if (list->is_all)
		return true;
	do
	{
		ListedDevice *device = &list->entries[list->count];

		if (list->count == MAX_DEVICES || !read_listed_device(&rest, device))
			return false;
		/* either all entries are numbers, or none is */
		if ((device->number < 0) != (list->entries[0].number < 0))
			return false;
		if (strncmp(device->name, "MIG-", 4) == 0)
			list->has_slices = true;
		list->count++;
	} while (*rest++ == ',');
	return true;
}

#endif							/* GPUSORT_DEVICE_LIST_H */
