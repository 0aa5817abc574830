/*-------------------------------------------------------------------------
 *
 * device_list.h
 *	  The value of gpusort.devices: "all", or a list of devices.
 *
 * A list names devices by their numbers, as "0,2", or by their UUIDs as
 * nvidia-smi prints them, as "GPU-..." or "MIG-...".  It does not do both: a
 * slice of a GPU (MIG) is there only for a process that CUDA has been told of
 * it, and then devices have other numbers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUSORT_DEVICE_LIST_H
#define GPUSORT_DEVICE_LIST_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernels/device_sort.h"

#define DEVICE_UUID_LENGTH		(DEVICE_UUID_SIZE - 1)

/* Digits of a device's number, more than any machine needs. */
#define LONGEST_DEVICE_NUMBER	4

/* An entry of a list. */
typedef struct ListedDevice
{
	int			number;			/* number, -1 if the name is a UUID */
	const char *name;			/* name, within the list */
	int			length;			/* length of the name */
} ListedDevice;

/* Length of the UUID with its prefix that the text begins with; 0 for none. */
static inline int
device_uuid_length(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	const size_t prefix = 4;

	if (strncmp(text, "GPU-", prefix) != 0 && strncmp(text, "MIG-", prefix) != 0)
		return 0;
	text += prefix;
	for (size_t i = 0; i < sizeof(form) - 1; i++)
	{
		if (form[i] == 'x' ? text[i] == '\0' ||
			strchr("0123456789abcdefABCDEF", text[i]) == NULL :
			text[i] != form[i])
			return 0;
	}
	return DEVICE_UUID_LENGTH;
}

/* Is this each device that can be used, and so no list? */
static inline bool
device_list_is_all(const char *list)
{
	return strcmp(list, "all") == 0;
}

/*
 * Takes the first entry off a list, which is NULL when that was the last one.
 * False if there is none, or what is there is none.
 */
static inline bool
device_list_next(const char **list, ListedDevice *device)
{
	const char *end;
	size_t		digits;

	if (*list == NULL)
		return false;
	end = *list + strspn(*list, " \t\n\r\f\v");
	digits = strspn(end, "0123456789");
	device->name = end;
	device->number = digits > 0 ? atoi(end) : -1;
	device->length = digits > 0 ? (int) digits : device_uuid_length(end);
	if (device->length == 0 || digits > LONGEST_DEVICE_NUMBER)
		return false;
	end += device->length;
	end += strspn(end, " \t\n\r\f\v");
	*list = *end == ',' ? end + 1 : NULL;
	return *end == ',' || *end == '\0';
}

/* Is this a value for gpusort.devices? */
static inline bool
device_list_is_valid(const char *list)
{
	ListedDevice device;
	int			numbers = 0;
	int			uuids = 0;

	if (device_list_is_all(list))
		return true;
	while (list != NULL)
	{
		if (!device_list_next(&list, &device))
			return false;
		if (device.number >= 0)
			numbers++;
		else
			uuids++;
	}
	return numbers == 0 || uuids == 0;
}

/* Is there a slice in this list, which is valid? */
static inline bool
device_list_has_slice(const char *list)
{
	return strstr(list, "MIG-") != NULL;
}

#endif							/* GPUSORT_DEVICE_LIST_H */
